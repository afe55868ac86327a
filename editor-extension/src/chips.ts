/** What chips are called and their files hold. Written by scripts/editor_types.py: change stepcore/timing. */

export const PRESETS = ["default", "validation", "paper", "decode"] as const;
export const TABLES = ["compute", "fifo", "flops", "memory", "onchip", "unit"] as const;

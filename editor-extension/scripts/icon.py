"""Draw icon.png: streams that run through two operators. It needs the standard library alone."""

from __future__ import annotations

import struct
import zlib
from itertools import pairwise
from pathlib import Path

SIZE = 256
SAMPLES = 3  # per pixel and axis, against jagged edges
Colour = tuple[float, float, float]
Point = tuple[float, float]

NAVY: Colour = (18, 35, 63)
NIGHT: Colour = (9, 18, 36)
TEAL: Colour = (64, 214, 196)
AMBER: Colour = (255, 183, 77)
WHITE: Colour = (240, 246, 255)

# Streams as polylines with their colours, and operators as (centre, half width, half height).
STREAMS: tuple[tuple[tuple[Point, ...], Colour], ...] = (
    (((30, 78), (88, 78)), TEAL),
    (((30, 178), (168, 178)), AMBER),
    (((88, 78), (128, 78), (128, 150), (168, 150)), TEAL),
    (((168, 164), (228, 164)), WHITE),
)
OPERATORS: tuple[tuple[Point, float, float], ...] = (((88, 78), 28, 28), ((168, 164), 30, 42))
STROKE = 6.0
CORNER = 44.0


def rounded(point: Point, centre: Point, half: Point, radius: float) -> float:
    """Return the signed distance of a point from a rounded box; negative inside."""
    dx = max(abs(point[0] - centre[0]) - half[0] + radius, 0.0)
    dy = max(abs(point[1] - centre[1]) - half[1] + radius, 0.0)
    return float((dx * dx + dy * dy) ** 0.5 - radius)


def to_line(point: Point, start: Point, end: Point) -> float:
    """Return the distance of a point from a segment."""
    (px, py), (ax, ay), (bx, by) = point, start, end
    length = (bx - ax) ** 2 + (by - ay) ** 2
    along = min(1.0, max(0.0, ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / length))
    return float(((px - ax - along * (bx - ax)) ** 2 + (py - ay - along * (by - ay)) ** 2) ** 0.5)


def colour_at(point: Point) -> tuple[Colour, float]:
    """Return colour and opacity (0 or 1) at a point."""
    if rounded(point, (SIZE / 2, SIZE / 2), (SIZE / 2, SIZE / 2), CORNER) > 0:
        return NAVY, 0.0
    for centre, width, height in OPERATORS:
        distance = rounded(point, centre, (width, height), 10)
        if distance < 0:
            return (WHITE if distance > -5 else NIGHT), 1.0
    for line, colour in STREAMS:
        if any(to_line(point, start, end) < STROKE for start, end in pairwise(line)):
            return colour, 1.0
    shade = point[1] / SIZE
    return tuple(a * (1 - shade) + b * shade for a, b in zip(NAVY, NIGHT, strict=True)), 1.0  # type: ignore[return-value]


def pixel(x: int, y: int) -> bytes:
    """Return red, green, blue and opacity of a pixel as the mean of its samples."""
    steps = [(i + 0.5) / SAMPLES for i in range(SAMPLES)]
    samples = [colour_at((x + dx, y + dy)) for dx in steps for dy in steps]
    opacity = sum(alpha for _, alpha in samples)
    if opacity == 0:
        return b"\0\0\0\0"
    mean = (sum(colour[i] * alpha for colour, alpha in samples) / opacity for i in range(3))
    return bytes([*(round(value) for value in mean), round(255 * opacity / len(samples))])


def chunk(kind: bytes, data: bytes) -> bytes:
    """Return one chunk of a PNG file."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main() -> None:
    """Write the icon."""
    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(SIZE)) for y in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows, 9)), chunk(b"IEND", b"")]
    Path(__file__).parents[1].joinpath("icon.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


if __name__ == "__main__":
    main()

"""What ``import stepcore as step`` offers to scripts and notebooks: operators that run at once."""

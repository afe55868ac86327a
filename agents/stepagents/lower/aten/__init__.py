"""What the lowering knows of ATen operations, a module for each kind."""

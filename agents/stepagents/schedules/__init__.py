"""From a traced function to schedules: programs over tiles of generation 2, by their cycles on a chip."""

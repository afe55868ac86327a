"""The worker process of the simulator, and its jobs. Nothing here is imported before a job needs it."""

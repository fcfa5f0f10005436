"""jobd's side of execution: runners found or started, starts spread over them, results brought in."""

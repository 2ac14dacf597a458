"""What is deployed, as far as it can be tried without Docker: files that name each other, and settings that hold."""

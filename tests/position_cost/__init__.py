"""What it costs a beat that positions are followed."""

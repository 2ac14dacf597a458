"""Many subscribers, one of which is noisy and some of which are ill: what the others feel of it."""

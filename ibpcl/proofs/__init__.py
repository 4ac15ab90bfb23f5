"""What the package proves about itself: every derivation is found, fed with inputs, and checked."""

"""The exchange as an SDK speaks it: whatever is to be said goes out together, answers come home."""

"""What every other room uses: records of a study, errors, durable files. Starts no process."""

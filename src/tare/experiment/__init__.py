"""From a study file to stored trials: declaration, design, execution, observation of the host."""

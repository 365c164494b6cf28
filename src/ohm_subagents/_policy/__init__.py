"""Pure decisions over the configuration and a profile: may it run, with which tools and limits. They read no file."""

NAME   a copied tree must be there
RUN    haltpoll doctor --sysroot nowhere
EXIT   64
STDERR_REGEX ^haltpoll: --sysroot: nowhere is not a directory$

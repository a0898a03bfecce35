NAME   NO_COLOR is respected on a terminal
NEEDS  command -v script
ENV    NO_COLOR=1
RUN    script -qec 'haltpoll doctor --no-measure' /dev/null
STDOUT_REGEX backends
STDOUT_NOT [[:cntrl:]]\[[0-9]*m

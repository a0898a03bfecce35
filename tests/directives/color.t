NAME   a terminal gets bold headings
NEEDS  command -v script
RUN    script -qec 'haltpoll doctor --no-measure' /dev/null | grep -c "$(printf '\033')\[1mmachine"
STDOUT_REGEX ^1

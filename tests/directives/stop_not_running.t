NAME   stopping what does not run is no error
NEEDS  ! haltpoll status
RUN    haltpoll stop
STDOUT_REGEX ^not running$
STDERR_EMPTY

NAME   without --stats the command takes haltpoll's place
RUN    haltpoll run -- sh -c 'echo $$' >pid & wait; [ "$(cat pid)" = "$!" ]
STDERR_EMPTY

NAME   an unknown key in the file names file and line
FILE   h.toml \n\ngovernador = "fixed"\n
ENV    HALTPOLL_CONFIG=h.toml
RUN    haltpoll run -- true
EXIT   65
STDERR_REGEX ^haltpoll: h.toml:3: unknown key "governador"; there are governor, window_ns, cpus, 

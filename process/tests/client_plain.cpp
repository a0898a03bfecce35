// The program under test: reads what must be left alone (a regular file, /dev/null, a non-blocking
// pipe, a pipe that has data) between two getppid calls that mark the part of its system calls to
// compare.
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

int main(int, char** arguments) {
  const int file = open(arguments[0], O_RDONLY);
  const int null = open("/dev/null", O_RDWR);
  int nonblocking[2], pipes[2];
  if (pipe2(nonblocking, O_NONBLOCK) != 0 || pipe(pipes) != 0) return 1;
  char buffer[4096];
  const iovec vector{buffer, sizeof buffer};
  (void)getppid();
  for (int i = 0; i < 10; ++i) {
    if (lseek(file, 0, SEEK_SET) != 0) return 1;
    if (read(file, buffer, sizeof buffer) <= 0 || readv(file, &vector, 1) <= 0) return 2;
    if (read(null, buffer, sizeof buffer) != 0) return 3;
    if (read(nonblocking[0], buffer, sizeof buffer) != -1) return 4;
    if (write(nonblocking[1], "x", 1) != 1 || read(nonblocking[0], buffer, 1) != 1) return 5;
    if (write(pipes[1], "x", 1) != 1 || read(pipes[0], buffer, 1) != 1) return 6;
  }
  (void)getppid();
  return 0;
}

// Linked statically: a program that the preload library cannot get into.
int main(void) { return 0; }

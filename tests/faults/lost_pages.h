/* What failing_sync.c tells lost_pages.c. */
#define _GNU_SOURCE
#include <sys/types.h>

void lose_pages(ino_t inode, const char *path, off_t from, off_t to);
void pages_synced(ino_t inode);

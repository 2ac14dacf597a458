/* A disk that fails, put before libc (LD_PRELOAD): fsync and fdatasync return EIO when they are told to.
 *
 * FAILING_SYNC names a file; as long as it is there it holds an order: PLACE MODE.
 *   PLACE  a pattern for the paths of the files whose syncs fail; * is any text, with slashes in it or without
 *   keep   what was written stays in the page cache, and may be there after a restart
 *   lose   some of the pages written since the last good sync are gone, as after a write-back that failed
 *   once   as keep, and the next sync is good again, as the kernel has it: it reports a lost page only once
 *   clean  as keep; the pages written since the last good sync are gone after a power cut, unless they are written and
 *          synced anew (lost_pages.c)
 */
#include "lost_pages.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 4096
#define PAGE 4096

/* Up to where a file was synced, by its descriptor. */
static struct { ino_t inode; off_t end; } synced[FILES_MAX];
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

/* Other pages in each process. */
__attribute__((constructor)) static void seed(void) { srandom(getpid()); }

static int read_order(char *place, char *mode) {
    const char *path = getenv("FAILING_SYNC");
    FILE *order = path ? fopen(path, "re") : NULL;
    if (!order) return 0;
    int words = fscanf(order, "%255s %15s", place, mode);
    fclose(order);
    return words == 2;
}

static int path_of(int fd, char *link, char *path) {
    snprintf(link, 64, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return 1;
}

/* Zeros half of the pages from the last good sync to where the file is written next; what was synced stays. */
static void lose(const char *link, off_t from, off_t to) {
    static const char zeros[PAGE];
    /* Another descriptor: this one may append whatever it is told. */
    int again = open(link, O_WRONLY | O_CLOEXEC);
    if (again < 0) return;
    int lost = 0;
    for (off_t at = from; at < to;) {
        off_t next = (at / PAGE + 1) * PAGE;
        if (next > to) next = to;
        if (random() % 2 || (next == to && !lost)) {
            lost = 1;
            if (pwrite(again, zeros, next - at, at) < 0) abort();
        }
        at = next;
    }
    close(again);
}

static int sync_or_fail(int fd, const char *name) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    char place[256], mode[16], link[64], path[PATH_MAX];
    struct stat file;
    if (fd < 0 || fd >= FILES_MAX || fstat(fd, &file) != 0) return real(fd);
    pthread_mutex_lock(&one);
    int fails = read_order(place, mode) && path_of(fd, link, path) && fnmatch(place, path, 0) == 0;
    if (fails) {
        off_t from = synced[fd].end, to = lseek(fd, 0, SEEK_CUR);
        int unsynced = synced[fd].inode == file.st_ino && from < to;
        if (unsynced && !strcmp(mode, "lose")) lose(link, from, to);
        if (unsynced && !strcmp(mode, "clean")) lose_pages(file.st_ino, path, from, to);
        if (!strcmp(mode, "once")) unlink(getenv("FAILING_SYNC"));
    }
    pthread_mutex_unlock(&one);
    if (fails) {
        errno = EIO;
        return -1;
    }
    off_t end = lseek(fd, 0, SEEK_CUR);
    int done = real(fd);
    if (done == 0) {
        pages_synced(file.st_ino);
        pthread_mutex_lock(&one);
        synced[fd].inode = file.st_ino;
        synced[fd].end = end;
        pthread_mutex_unlock(&one);
    }
    return done;
}

int fsync(int fd) { return sync_or_fail(fd, "fsync"); }
int fdatasync(int fd) { return sync_or_fail(fd, "fdatasync"); }

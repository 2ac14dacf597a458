/* Pages that a failed sync has left clean: they can be read until the power fails, and no sync writes them any more.
 *
 * FAILING_SYNC.lost has a line for each, INODE FROM TO PATH (bytes), which a simulated power cut puts back to zeros. A
 * page that is written again is dirty again, as a whole, and off the list after the next good sync of its file. The list
 * outlives the process, as the page cache does.
 */
#include "lost_pages.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES_MAX 65536

static struct page { ino_t inode; off_t from, to; char path[PATH_MAX]; int written; } *pages;
static int count;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static FILE *open_list(const char *mode) {
    char path[PATH_MAX];
    const char *order = getenv("FAILING_SYNC");
    if (!order) return NULL;
    snprintf(path, sizeof path, "%s.lost", order);
    return fopen(path, mode);
}

__attribute__((constructor)) static void load(void) {
    pages = calloc(PAGES_MAX, sizeof *pages);
    FILE *list = open_list("re");
    if (!pages || !list) return;
    unsigned long inode;
    long from, to;
    struct page *page = pages;
    while (count < PAGES_MAX && fscanf(list, "%lu %ld %ld %4095s", &inode, &from, &to, page->path) == 4) {
        page->inode = inode, page->from = from, page->to = to;
        page = pages + ++count;
    }
    fclose(list);
}

static void save(void) {
    FILE *list = open_list("we");
    if (!list) abort();
    for (struct page *page = pages; page < pages + count; page++)
        fprintf(list, "%lu %ld %ld %s\n", (unsigned long)page->inode, (long)page->from, (long)page->to, page->path);
    fclose(list);
}

void lose_pages(ino_t inode, const char *path, off_t from, off_t to) {
    pthread_mutex_lock(&one);
    for (off_t at = from; at < to && count < PAGES_MAX;) {
        off_t next = (at / PAGE + 1) * PAGE;
        struct page *page = pages + count++;
        *page = (struct page){ .inode = inode, .from = at, .to = next < to ? next : to };
        snprintf(page->path, sizeof page->path, "%s", path);
        at = next;
    }
    save();
    pthread_mutex_unlock(&one);
}

void pages_synced(ino_t inode) {
    if (!count) return;
    pthread_mutex_lock(&one);
    int kept = 0, before = count;
    for (int i = 0; i < before; i++)
        if (pages[i].inode != inode || !pages[i].written) pages[kept++] = pages[i];
    count = kept;
    if (kept != before) save();
    pthread_mutex_unlock(&one);
}

static void written(int fd, off_t from, ssize_t bytes) {
    struct stat file;
    if (!count || bytes <= 0 || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return;
    if (from < 0) from = lseek(fd, 0, SEEK_CUR) - bytes;
    pthread_mutex_lock(&one);
    for (struct page *page = pages; page < pages + count; page++)
        if (page->inode == file.st_ino && from / PAGE <= page->from / PAGE && page->from / PAGE <= (from + bytes - 1) / PAGE)
            page->written = 1;
    pthread_mutex_unlock(&one);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t bytes) {
    ssize_t done = REAL(write)(fd, data, bytes);
    written(fd, -1, done);
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int number) {
    ssize_t done = REAL(writev)(fd, parts, number);
    written(fd, -1, done);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) {
    ssize_t done = REAL(pwrite)(fd, data, bytes, at);
    written(fd, at, done);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t at) {
    ssize_t done = REAL(pwrite64)(fd, data, bytes, at);
    written(fd, at, done);
    return done;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memo.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* Bytes for entries: enough for about 1 000 axes of 129 taps. */
#define ROOM ((size_t) 4 << 20)
#define LARGEST (ROOM / 16) /* bytes of an entry */
#define BUCKETS 1024

/* Followed by settings, taps and the value. */
typedef struct
{
  uint64_t hash;
  uint64_t before; /* place of the bucket's previous entry; 0: none */
  uint32_t of, settings_bytes, taps_bytes, value_bytes;
} Entry;

/* A ring buffer of entries. Places are bytes counted from 1 and never wrap: place i is at byte
 * (i - 1) % ROOM, and its entry is valid as long as `end` is at most ROOM bytes further. */
static struct
{
  pthread_mutex_t lock;
  uint64_t end;           /* where the next entry goes */
  uint64_t last[BUCKETS]; /* 0: none */
  uint64_t room[ROOM / sizeof (uint64_t)];
} memo = { .lock = PTHREAD_MUTEX_INITIALIZER, .end = 1 };

/* The FNV-1a hash (Fowler, Noll, Vo) over eight bytes at a time; the upper half is mixed into the
 * lower one. */
static uint64_t
add_to_hash (uint64_t hash, const void *data, size_t bytes)
{
  const uint8_t *from = data;

  for (; bytes > 0; from += sizeof (uint64_t)) {
    const size_t n = bytes < sizeof (uint64_t) ? bytes : sizeof (uint64_t);
    uint64_t word = 0;

    memcpy (&word, from, n);
    hash = (hash ^ word) * UINT64_C (0x100000001b3);
    hash ^= hash >> 32;
    bytes -= n;
  }
  return hash;
}

static uint64_t
hash_of (const MemoKey *key)
{
  uint64_t hash = UINT64_C (0xcbf29ce484222325) ^ (uint64_t) key->of;

  hash = add_to_hash (hash, key->settings, key->settings_bytes);
  return add_to_hash (hash, key->taps, key->taps_bytes);
}

static Entry *
entry_at (uint64_t place)
{
  return (Entry *) ((uint8_t *) memo.room + (place - 1) % ROOM);
}

static size_t
entry_bytes (const MemoKey *key, size_t value_bytes)
{
  const size_t bytes =
      sizeof (Entry) + key->settings_bytes + key->taps_bytes + value_bytes;

  return (bytes + sizeof (uint64_t) - 1) / sizeof (uint64_t)
      * sizeof (uint64_t);
}

static bool
is_of (const Entry *entry, const MemoKey *key)
{
  const uint8_t *settings = (const uint8_t *) (entry + 1);

  return entry->of == (uint32_t) key->of
      && entry->settings_bytes == key->settings_bytes
      && entry->taps_bytes == key->taps_bytes
      && memcmp (settings, key->settings, key->settings_bytes) == 0
      && memcmp (settings + key->settings_bytes, key->taps, key->taps_bytes)
      == 0;
}

static const uint8_t *
value_of (const Entry *entry)
{
  return (const uint8_t *) (entry + 1) + entry->settings_bytes
      + entry->taps_bytes;
}

/* The newest entry of a key, or NULL. */
static const Entry *
find_entry (const MemoKey *key, uint64_t hash)
{
  uint64_t place = memo.last[hash % BUCKETS];

  while (place > 0 && memo.end - place <= ROOM) {
    const Entry *entry = entry_at (place);

    if (entry->hash == hash && is_of (entry, key))
      return entry;
    place = entry->before;
  }
  return NULL;
}

bool
memo_find (const MemoKey *key, void *value, size_t most)
{
  const uint64_t hash = hash_of (key);
  const Entry *entry;
  bool found;

  pthread_mutex_lock (&memo.lock);
  entry = find_entry (key, hash);
  found = entry != NULL && entry->value_bytes <= most;
  if (found)
    memcpy (value, value_of (entry), entry->value_bytes);
  pthread_mutex_unlock (&memo.lock);
  return found;
}

void
memo_keep (const MemoKey *key, const void *value, size_t bytes)
{
  const size_t all = entry_bytes (key, bytes);
  const uint64_t hash = hash_of (key);
  uint64_t *last = &memo.last[hash % BUCKETS];
  size_t left;
  Entry *entry;
  uint8_t *to;

  if (all > LARGEST)
    return;
  pthread_mutex_lock (&memo.lock);
  left = ROOM - (memo.end - 1) % ROOM;
  if (left < all)
    memo.end += left;
  entry = entry_at (memo.end);
  entry->hash = hash;
  entry->before = *last;
  entry->of = (uint32_t) key->of;
  entry->settings_bytes = (uint32_t) key->settings_bytes;
  entry->taps_bytes = (uint32_t) key->taps_bytes;
  entry->value_bytes = (uint32_t) bytes;
  to = (uint8_t *) (entry + 1);
  memcpy (to, key->settings, key->settings_bytes);
  memcpy (to + key->settings_bytes, key->taps, key->taps_bytes);
  memcpy (to + key->settings_bytes + key->taps_bytes, value, bytes);
  *last = memo.end;
  memo.end += all;
  pthread_mutex_unlock (&memo.lock);
}

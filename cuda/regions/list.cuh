/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* list: an array of items of one kind, on the host. Its memory is kept, and grows from run to
 * run. */
#pragma once

#include "../fault.h"

#include <stdint.h>
#include <stdlib.h>

struct RegionsList
{
  size_t item; /* bytes */
  size_t n, capacity;
  void *data;
  size_t at; /* offset of the items in the block that is sent, bytes */
};

static inline bool
regions_no_memory (Fault *fault)
{
  return fault_set (
      fault, FAULT_NO_SPACE, "Out of memory for a frame's regions.");
}

/* Appends n items, not set, and returns the first; NULL: out of memory. */
static inline void *
regions_extend (RegionsList *list, size_t n)
{
  if (list->n + n > list->capacity) {
    const size_t capacity = 2 * (list->n + n) + 64;
    void *data = realloc (list->data, capacity * list->item);

    if (data == NULL)
      return NULL;
    list->data = data;
    list->capacity = capacity;
  }
  list->n += n;
  return (uint8_t *) list->data + (list->n - n) * list->item;
}

template <typename T>
static inline bool
regions_append (RegionsList *list, const T &item, Fault *fault)
{
  T *to = (T *) regions_extend (list, 1);

  if (to == NULL)
    return regions_no_memory (fault);
  *to = item;
  return true;
}

template <typename T>
static inline const T *
regions_items (const RegionsList &list)
{
  return (const T *) list.data;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arrays.h"

#include "devices.h"
#include "dlpack.h"
#include "faults.h"

#include <string.h>

int
array_element_bytes (ArrayType type)
{
  return type == ARRAY_INT64 ? 8 : type == ARRAY_UINT16 ? 2 : 1;
}

static bool
wrong_type (const char *name, const char *type)
{
  PyErr_Format (PyExc_TypeError,
      "%s has elements of type %s; uint8 and uint16 can be filtered.", name,
      type);
  return false;
}

static bool
take_dimensions (Array *array, int64_t n, const char *name)
{
  if (n >= 0 && n <= ARRAY_MAX_DIMENSIONS) {
    array->dimensions = (int) n;
    return true;
  }
  PyErr_Format (PyExc_ValueError, "%s has %lld dimensions; %d are the most.",
      name, (long long) n, ARRAY_MAX_DIMENSIONS);
  return false;
}

static bool
refuse_read_only (const char *name)
{
  PyErr_Format (
      PyExc_ValueError, "%s is read-only and cannot be written to.", name);
  return false;
}

static bool
check_shape (const Array *array, const char *name)
{
  for (int i = 0; i < array->dimensions; i++)
    if (array->shape[i] < 1) {
      PyErr_Format (PyExc_ValueError, "%s has no elements.", name);
      return false;
    }
  return true;
}

/* Strides of elements that follow each other row by row. */
static void
pack_strides (Array *array)
{
  int64_t stride = array_element_bytes (array->type);

  for (int i = array->dimensions - 1; i >= 0; i--) {
    array->stride[i] = stride;
    stride *= array->shape[i];
  }
}

/* The name of an element type by its code in the struct module. */
static const char *
code_name (const char *code)
{
  static const char *const names[][2] = { { "?", "bool" }, { "b", "int8" },
    { "h", "int16" }, { "i", "int32" }, { "I", "uint32" }, { "l", "int64" },
    { "L", "uint64" }, { "q", "int64" }, { "Q", "uint64" }, { "e", "float16" },
    { "f", "float32" }, { "d", "float64" }, { ">H", "big-endian uint16" } };

  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp (code, names[i][0]) == 0)
      return names[i][1];
  return code;
}

/* The struct module's codes, in the host's byte order, which is little-endian. */
static bool
buffer_type (const char *format, Py_ssize_t bytes, ArrayType *type)
{
  if (strchr ("@=<", format[0]) != NULL && format[0] != '\0')
    format++;
  if (format[0] == '\0' || format[1] != '\0')
    return false;
  if (format[0] == 'B' && bytes == 1)
    *type = ARRAY_UINT8;
  else if (format[0] == 'H' && bytes == 2)
    *type = ARRAY_UINT16;
  else if ((format[0] == 'l' || format[0] == 'q') && bytes == 8)
    *type = ARRAY_INT64;
  else
    return false;
  return true;
}

static bool
get_buffer (PyObject *object, bool writable, const char *name, Array *array)
{
  Py_buffer *buffer = &array->buffer;
  const char *format;

  if (PyObject_GetBuffer (object, buffer, PyBUF_RECORDS_RO) != 0)
    return false;
  array->buffered = true;
  array->device = ARRAY_ON_HOST;
  array->data = buffer->buf;
  if (writable && buffer->readonly)
    return refuse_read_only (name);
  format = buffer->format != NULL ? buffer->format : "B";
  if (!buffer_type (format, buffer->itemsize, &array->type))
    return wrong_type (name, code_name (format));
  if (!take_dimensions (array, buffer->ndim, name))
    return false;
  for (int i = 0; i < array->dimensions; i++) {
    array->shape[i] = buffer->shape[i];
    array->stride[i] = buffer->strides[i];
  }
  return true;
}

static bool
tensor_type (const DLPackTensor *tensor, const char *name, ArrayType *type)
{
  static const char *const codes[] = { "int", "uint", "float", "handle",
    "bfloat", "complex", "bool" };
  const char *code = "";
  char text[64];

  if (tensor->type_code == DLPACK_UNSIGNED && tensor->type_lanes == 1
      && (tensor->type_bits == 8 || tensor->type_bits == 16))
    *type = tensor->type_bits == 8 ? ARRAY_UINT8 : ARRAY_UINT16;
  else if (tensor->type_code == DLPACK_SIGNED && tensor->type_lanes == 1
      && tensor->type_bits == 64)
    *type = ARRAY_INT64;
  else {
    if (tensor->type_code < sizeof codes / sizeof codes[0])
      code = codes[tensor->type_code];
    PyOS_snprintf (text, sizeof text, "%s%d", code, tensor->type_bits);
    return wrong_type (name, text);
  }
  return true;
}

static bool
get_tensor (const DLPackTensor *tensor, const char *name, Array *array)
{
  switch (tensor->device_type) {
    case DLPACK_CPU:
    case DLPACK_CUDA_HOST:
      array->device = ARRAY_ON_HOST;
      break;
    case DLPACK_CUDA:
    case DLPACK_CUDA_MANAGED:
      array->device = tensor->device_id;
      break;
    default:
      PyErr_Format (PyExc_TypeError,
          "%s lies on a device of DLPack's type %d; the host's memory and that of "
          "CUDA's devices can be used.",
          name, (int) tensor->device_type);
      return false;
  }
  if (!tensor_type (tensor, name, &array->type)
      || !take_dimensions (array, tensor->ndim, name))
    return false;
  array->data = (uint8_t *) tensor->data + tensor->byte_offset;
  for (int i = 0; i < array->dimensions; i++)
    array->shape[i] = tensor->shape[i];
  if (tensor->strides == NULL)
    pack_strides (array);
  else
    for (int i = 0; i < array->dimensions; i++)
      array->stride[i] = tensor->strides[i] * array_element_bytes (array->type);
  return true;
}

/* The capsule is not consumed: whoever made it releases the tensor with it. */
static bool
get_capsule (PyObject *object, bool writable, const char *name, Array *array)
{
  if (PyCapsule_IsValid (object, DLPACK_VERSIONED_CAPSULE)) {
    const DLPackVersioned *managed =
        PyCapsule_GetPointer (object, DLPACK_VERSIONED_CAPSULE);

    if (managed->major != DLPACK_MAJOR_VERSION) {
      PyErr_Format (PyExc_TypeError,
          "%s comes by version %d of DLPack; %d is understood.", name,
          (int) managed->major, DLPACK_MAJOR_VERSION);
      return false;
    }
    if (writable && (managed->flags & DLPACK_READ_ONLY) != 0)
      return refuse_read_only (name);
    return get_tensor (&managed->tensor, name, array);
  }
  if (PyCapsule_IsValid (object, DLPACK_CAPSULE)) {
    const DLPackManaged *managed =
        PyCapsule_GetPointer (object, DLPACK_CAPSULE);

    return get_tensor (&managed->tensor, name, array);
  }
  PyErr_Format (PyExc_TypeError,
      "%s is a capsule, but not an unused one of DLPack.", name);
  return false;
}

/* Borrowed; NULL and a TypeError if the interface does not have it. */
static PyObject *
interface_item (PyObject *interface, const char *key)
{
  PyObject *item = PyDict_GetItemString (interface, key);

  if (item == NULL && !PyErr_Occurred ())
    PyErr_Format (
        PyExc_TypeError, "The __cuda_array_interface__ has no \"%s\".", key);
  return item;
}

/* The integers of a tuple; returns how many, or -1 and an exception. */
static Py_ssize_t
read_tuple (PyObject *tuple, int64_t numbers[ARRAY_MAX_DIMENSIONS])
{
  const Py_ssize_t n = PyTuple_Size (tuple);

  for (Py_ssize_t i = 0; i < n && i < ARRAY_MAX_DIMENSIONS; i++) {
    numbers[i] = PyLong_AsLongLong (PyTuple_GetItem (tuple, i));
    if (numbers[i] == -1 && PyErr_Occurred ())
      return -1;
  }
  return n;
}

static bool
interface_type (PyObject *interface, const char *name, ArrayType *type)
{
  PyObject *item = interface_item (interface, "typestr");
  const char *text;

  if (item == NULL || (text = PyUnicode_AsUTF8AndSize (item, NULL)) == NULL)
    return false;
  if (strcmp (text, "|u1") == 0 || strcmp (text, "<u1") == 0)
    *type = ARRAY_UINT8;
  else if (strcmp (text, "<u2") == 0)
    *type = ARRAY_UINT16;
  else if (strcmp (text, "<i8") == 0)
    *type = ARRAY_INT64;
  else
    return wrong_type (name, text);
  return true;
}

static bool
interface_data (
    PyObject *interface, bool writable, const char *name, Array *array)
{
  PyObject *item = interface_item (interface, "data");
  PyObject *address, *read_only;
  Fault fault;

  if (item == NULL || (address = PyTuple_GetItem (item, 0)) == NULL
      || (read_only = PyTuple_GetItem (item, 1)) == NULL)
    return false;
  if (writable && PyObject_IsTrue (read_only))
    return refuse_read_only (name);
  array->data = PyLong_AsVoidPtr (address);
  if (array->data == NULL && PyErr_Occurred ())
    return false;
  return device_of_memory (array->data, &array->device, &fault)
      || fault_raise (&fault);
}

static bool
get_interface (PyObject *object, bool writable, const char *name, Array *array)
{
  PyObject *shape = interface_item (object, "shape");
  PyObject *strides = PyDict_GetItemString (object, "strides");
  Py_ssize_t n;

  if (shape == NULL || !interface_type (object, name, &array->type)
      || (n = read_tuple (shape, array->shape)) < 0
      || !take_dimensions (array, n, name) || !check_shape (array, name))
    return false;
  pack_strides (array);
  if (strides != NULL && strides != Py_None
      && read_tuple (strides, array->stride) != n) {
    if (!PyErr_Occurred ())
      PyErr_Format (
          PyExc_ValueError, "%s has not as many strides as dimensions.", name);
    return false;
  }
  return interface_data (object, writable, name, array);
}

bool
array_get (PyObject *object, bool writable, const char *name, Array *array)
{
  bool ok;

  memset (array, 0, sizeof *array);
  if (PyCapsule_CheckExact (object))
    ok = get_capsule (object, writable, name, array);
  else if (PyDict_Check (object))
    ok = get_interface (object, writable, name, array);
  else
    ok = get_buffer (object, writable, name, array);
  if (ok && check_shape (array, name))
    return true;
  array_release (array);
  return false;
}

void
array_release (Array *array)
{
  if (array->buffered)
    PyBuffer_Release (&array->buffer);
  array->buffered = false;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpufault.h"

#include "gstgpulog.h"

#define GST_CAT_DEFAULT gst_gpu_log_base

static GError *
fault_to_error (const Fault *fault)
{
  GQuark domain = GST_RESOURCE_ERROR;
  gint code = GST_RESOURCE_ERROR_FAILED;

  switch (fault->kind) {
    case FAULT_SETTINGS:
    case FAULT_UNSUPPORTED:
      code = GST_RESOURCE_ERROR_SETTINGS;
      break;
    case FAULT_FORMAT:
      domain = GST_STREAM_ERROR;
      code = GST_STREAM_ERROR_FORMAT;
      break;
    case FAULT_NOT_FOUND:
      code = GST_RESOURCE_ERROR_NOT_FOUND;
      break;
    case FAULT_NO_SPACE:
      code = GST_RESOURCE_ERROR_NO_SPACE_LEFT;
      break;
    default:
      break;
  }
  return g_error_new_literal (domain, code, fault->message);
}

/* Returns the debug text of a message, to be freed. */
static gchar *
debug_text (GstElement *element, const Fault *fault)
{
  gchar *path = gst_object_get_path_string (GST_OBJECT (element));
  gchar *text = g_strdup_printf ("%s:\n%s", path, fault->detail);

  g_free (path);
  return text;
}

GstMessage *
gst_gpu_fault_to_message (GstElement *element, const Fault *fault)
{
  GError *error = fault_to_error (fault);
  gchar *debug = debug_text (element, fault);
  GstMessage *message =
      gst_message_new_error (GST_OBJECT (element), error, debug);

  GST_ERROR_OBJECT (element, "%s (%s)", fault->message, fault->detail);
  g_error_free (error);
  g_free (debug);
  return message;
}

GstMessage *
gst_gpu_fault_to_warning (
    GstElement *element, const Fault *fault, const gchar *consequence)
{
  GError *error = fault_to_error (fault);
  gchar *text = g_strdup_printf ("%s %s", consequence, fault->message);
  gchar *debug = debug_text (element, fault);
  GstMessage *message;

  g_free (error->message);
  error->message = text;
  message = gst_message_new_warning (GST_OBJECT (element), error, debug);
  GST_WARNING_OBJECT (element, "%s (%s)", text, fault->detail);
  g_error_free (error);
  g_free (debug);
  return message;
}

void
gst_gpu_fault_post (GstElement *element, const Fault *fault)
{
  gst_element_post_message (element, gst_gpu_fault_to_message (element, fault));
}

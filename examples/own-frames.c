/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Filters frames of the application's own, and looks at the results:
 *
 *   own-frames [FRAMES]
 *
 * No frame is copied by the CPU. The application writes into buffers of the pool that cudasepconv
 * offers, which is page-locked memory where there is a GPU, and reads the buffers that
 * cudasepconv returns, which belong to a pool, too. Exit status: 0; 1 and a sentence on stderr. */

#include <stdlib.h>

#include <gst/app/app.h>
#include <gst/base/base.h>
#include <gst/video/video.h>

#define WIDTH 640
#define HEIGHT 480

struct app
{
  GstBufferPool
      *pool; /* of inputs; made by the streaming thread for the first one */
  guint frames, pushed, results;
  guint brightest, column;      /* of the last result */
  GHashTable *inputs, *outputs; /* addresses of all memory that was used */
};

/* Asks downstream for its pool. On the CPU cudasepconv offers none, and any pool will do. Returns
 * NULL if the pool cannot be started. */
static GstBufferPool *
make_pool (GstPad *pad)
{
  GstCaps *caps = gst_pad_get_current_caps (pad);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  GstBufferPool *pool = NULL;
  GstStructure *config;
  guint size = WIDTH * HEIGHT, least = 0, most = 0;

  if (gst_pad_peer_query (pad, query)
      && gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &least, &most);
  if (pool == NULL)
    pool = gst_video_buffer_pool_new ();
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, size, least, most);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config (pool, config)
      || !gst_buffer_pool_set_active (pool, TRUE))
    gst_clear_object (&pool);
  gst_query_unref (query);
  gst_caps_unref (caps);
  return pool;
}

/* A bar of 8 columns that moves by one column a frame. */
static void
draw (GstVideoFrame *frame, guint number)
{
  guint8 *row = GST_VIDEO_FRAME_PLANE_DATA (frame, 0);

  for (guint y = 0; y < HEIGHT; y++) {
    for (guint x = 0; x < WIDTH; x++)
      row[x] = (x + WIDTH - number % WIDTH) % WIDTH < 8 ? 255 : 0;
    row += GST_VIDEO_FRAME_PLANE_STRIDE (frame, 0);
  }
}

/* Called on the streaming thread whenever appsrc has no buffer left; caps are set by then. */
static void
on_need_data (GstAppSrc *source, guint length, gpointer data)
{
  struct app *app = data;
  GstBuffer *buffer = NULL;
  GstVideoInfo info;
  GstVideoFrame frame;

  (void) length;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
  if (app->pool == NULL)
    app->pool = make_pool (GST_BASE_SRC_PAD (source));
  if (app->pushed == app->frames || app->pool == NULL
      || gst_buffer_pool_acquire_buffer (app->pool, &buffer, NULL)
          != GST_FLOW_OK
      || !gst_video_frame_map (&frame, &info, buffer, GST_MAP_WRITE)) {
    gst_clear_buffer (&buffer);
    gst_app_src_end_of_stream (source);
    return;
  }
  draw (&frame, app->pushed);
  g_hash_table_add (app->inputs, GST_VIDEO_FRAME_PLANE_DATA (&frame, 0));
  gst_video_frame_unmap (&frame);
  GST_BUFFER_PTS (buffer) = app->pushed++ * GST_SECOND / 30;
  gst_app_src_push_buffer (source, buffer); /* it comes back to the pool */
}

/* Finds the brightest sample of the middle row: a blurred bar is less bright than a sharp one. */
static void
look_at (struct app *app, GstSample *sample)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  const guint8 *row;

  gst_video_info_from_caps (&info, gst_sample_get_caps (sample));
  if (!gst_video_frame_map (
          &frame, &info, gst_sample_get_buffer (sample), GST_MAP_READ))
    return;
  row = GST_VIDEO_FRAME_PLANE_DATA (&frame, 0);
  g_hash_table_add (app->outputs, (gpointer) row);
  row += HEIGHT / 2 * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);
  app->column = 0;
  for (guint x = 1; x < WIDTH; x++)
    app->column = row[x] > row[app->column] ? x : app->column;
  app->brightest = row[app->column];
  app->results++;
  gst_video_frame_unmap (&frame);
}

static void
run (struct app *app, GstElement *pipeline)
{
  GstAppSrc *source =
      GST_APP_SRC (gst_bin_get_by_name (GST_BIN (pipeline), "in"));
  GstAppSink *sink =
      GST_APP_SINK (gst_bin_get_by_name (GST_BIN (pipeline), "out"));
  GstSample *sample;

  g_signal_connect (source, "need-data", G_CALLBACK (on_need_data), app);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_pull_sample (sink)) != NULL) {
    look_at (app, sample);
    gst_sample_unref (sample);
  }
  g_print ("frames   %u, of the last one sample %u is the brightest: %u\n",
      app->results, app->column, app->brightest);
  g_print ("memory   of %u inputs and %u outputs\n",
      g_hash_table_size (app->inputs), g_hash_table_size (app->outputs));
  gst_object_unref (source);
  gst_object_unref (sink);
}

static void
print_error (GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  GError *error = NULL;

  if (message != NULL)
    gst_message_parse_error (message, &error, NULL);
  g_printerr ("own-frames: %s\n",
      error != NULL ? error->message : "frames are missing");
  g_clear_error (&error);
  gst_clear_message (&message);
  gst_object_unref (bus);
}

int
main (int argc, char **argv)
{
  struct app app = { .frames = argc > 1 ? (guint) atoi (argv[1]) : 300 };
  GstElement *pipeline;
  gchar *description;
  gboolean complete;

  gst_init (&argc, &argv);
  description = g_strdup_printf (
      "appsrc name=in format=time"
      " caps=video/x-raw,format=GRAY8,width=%d,height=%d,framerate=30/1"
      " ! cudasepconv sigma=4 ! appsink name=out sync=false max-buffers=2",
      WIDTH, HEIGHT);
  pipeline = gst_parse_launch (description, NULL);
  g_free (description);
  if (pipeline == NULL) {
    g_printerr (
        "own-frames: GStreamer does not find cudasepconv; set GST_PLUGIN_PATH\n");
    return 1;
  }
  app.inputs = g_hash_table_new (NULL, NULL);
  app.outputs = g_hash_table_new (NULL, NULL);
  run (&app, pipeline);
  complete = app.results == app.frames;
  if (!complete)
    print_error (pipeline);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  if (app.pool != NULL)
    gst_buffer_pool_set_active (app.pool, FALSE);
  gst_clear_object (&app.pool);
  g_hash_table_unref (app.inputs);
  g_hash_table_unref (app.outputs);
  return complete ? 0 : 1;
}

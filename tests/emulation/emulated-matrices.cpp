/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-matrices: products of matrices for a whole warp at once, which would take most of the
 * tests' time lane by lane. instructions.cuh tells the layouts: a register of all lanes holds eight
 * lines of a matrix one after the other, of 16 bytes each. */
#include "emulated-instructions.h"

#include <string.h>

typedef float FourFloats __attribute__ ((vector_size (16)));
typedef int32_t FourInts __attribute__ ((vector_size (16)));
typedef int16_t FourShorts __attribute__ ((vector_size (8)));
typedef int16_t EightShorts __attribute__ ((vector_size (16)));

/* Far below that of any product of halves, which is at least -28, also when one of a half, at most
 * 16, is added to it. */
#define EXPONENT_OF_ZERO (-500)

/* Eight halves, of four registers, as numbers, and their exponents, of which the least is -14. */
struct Line
{
  float number[8];
  int16_t exponent[8];
};

static void
read_line (const uint32_t *registers, Line *line)
{
  uint16_t halves[8];
  uint32_t bits[8];

  memcpy (halves, registers, sizeof halves);
  for (int i = 0; i < 8; i++) {
    const int16_t size = (int16_t) (halves[i] & 0x7fff);
    const int16_t exponent = (int16_t) (size >> 10);

    line->exponent[i] =
        (int16_t) (size == 0 ? EXPONENT_OF_ZERO
                             : (exponent > 1 ? exponent : 1) - 15);
    bits[i] = (uint32_t) size << 13;
  }
  /* In the places of a float, the bits of a half are a number 2^112 times smaller. */
  memcpy (line->number, bits, sizeof bits);
  for (int i = 0; i < 8; i++)
    line->number[i] *= 0x1p112f;
  memcpy (bits, line->number, sizeof bits);
  for (int i = 0; i < 8; i++)
    bits[i] |= (uint32_t) (halves[i] & 0x8000) << 16
        | ((halves[i] & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u);
  memcpy (line->number, bits, sizeof bits);
}

template <typename To, typename From>
static To
load (const From *from)
{
  To to;

  memcpy (&to, from, sizeof to);
  return to;
}

static FourFloats
power_of_two (FourInts n)
{
  return (FourFloats) ((n + 127) << 23);
}

/* Adds eight products to each of four sums as tensor cores of compute capability 8.x do, which lose
 * more than newer ones: tensor-loss.h says how, and from which sources. `most` has the largest
 * exponents of the products. */
static void
add_products (
    float *sums, const Line &row, const float (*columns)[8], FourShorts most)
{
  FourFloats sum = load<FourFloats> (sums), scale;
  const FourInts exponent = __builtin_convertvector (most, FourInts);
  FourInts largest = ((FourInts) sum >> 23 & 0xff) - 127, total, size, excess;

  largest = largest > -64 ? largest : (FourInts){ -64, -64, -64, -64 };
  largest = largest > exponent ? largest : exponent;
  /* Each number then is below 2^26, and a float holds all bits of a product of halves. */
  scale = power_of_two (24 - largest);
  total = __builtin_convertvector (sum * scale, FourInts);
  for (int k = 0; k < 8; k++)
    total += __builtin_convertvector (
        row.number[k] * load<FourFloats> (columns[k]) * scale, FourInts);
  /* Of 30 bits or less, 24. */
  size = total < 0 ? -total : total;
  excess = size >> 24;
  excess |= excess >> 1;
  excess |= excess >> 2;
  excess |= excess >> 4;
  size &= ~excess;
  total = total < 0 ? -size : size;
  /* Without a product the sum stays what it is. */
  sum = exponent > EXPONENT_OF_ZERO / 2
      ? __builtin_convertvector (total, FourFloats) * power_of_two (largest - 24)
      : sum;
  memcpy (sums, &sum, sizeof sum);
}

/* The sums of a warp by rows and columns, from those by lanes or back: a lane has two neighbours of row i
 * and two of row i + 8. */
template <bool BACK, typename T>
static void
transpose_sums (T (&by_lane)[32][4], T (&by_row)[16][8])
{
  for (int lane = 0; lane < 32; lane++)
    for (int half = 0; half < 2; half++) {
      T *const one = &by_lane[lane][2 * half];
      T *const other = &by_row[lane / 4 + 8 * half][lane % 4 * 2];

      memcpy (BACK ? one : other, BACK ? other : one, 2 * sizeof *one);
    }
}

void
emulated_multiply_halves (WarpExchange &exchange)
{
  Line line;
  float columns[16][8], sums[16][8];
  int16_t exponents[16][8];

  for (int part = 0; part < 2; part++)
    for (int column = 0; column < 8; column++) {
      read_line (&exchange.right[part][4 * column], &line);
      for (int k = 0; k < 8; k++) {
        columns[8 * part + k][column] = line.number[k];
        exponents[8 * part + k][column] = line.exponent[k];
      }
    }
  transpose_sums<false> (exchange.sum, sums);
  for (int row = 0; row < 16; row++)
    for (int part = 0; part < 2; part++) {
      EightShorts most;
      FourShorts halves[2];

      read_line (&exchange.left[row / 8 + 2 * part][4 * (row % 8)], &line);
      most = load<EightShorts> (exponents[8 * part]) + line.exponent[0];
      for (int k = 1; k < 8; k++) {
        const EightShorts exponent =
            load<EightShorts> (exponents[8 * part + k]) + line.exponent[k];

        most = exponent > most ? exponent : most;
      }
      memcpy (halves, &most, sizeof halves);
      for (int i = 0; i < 2; i++)
        add_products (&sums[row][4 * i], line,
            (const float (*)[8]) & columns[8 * part][4 * i], halves[i]);
    }
  transpose_sums<true> (exchange.sum, sums);
}

/* `Right`: what the bytes of B are. */
template <typename Right>
static void
multiply_bytes (WarpExchange &exchange)
{
  int sums[16][8];

  transpose_sums<false> (exchange.integer, sums);
  for (int part = 0; part < 2; part++)
    for (int row = 0; row < 16; row++) {
      const uint8_t *bytes =
          (const uint8_t *) &exchange.left[row / 8 + 2 * part][4 * (row % 8)];

      for (int column = 0; column < 8; column++) {
        const Right *by = (const Right *) &exchange.right[part][4 * column];

        for (int k = 0; k < 16; k++)
          sums[row][column] += bytes[k] * by[k];
      }
    }
  transpose_sums<true> (exchange.integer, sums);
}

void
emulated_multiply_bytes (WarpExchange &exchange)
{
  multiply_bytes<int8_t> (exchange);
}

void
emulated_multiply_unsigned_bytes (WarpExchange &exchange)
{
  multiply_bytes<uint8_t> (exchange);
}

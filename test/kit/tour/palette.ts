import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = 8;
const MOST_COLOURS = 256;

/**
 * Reduces a picture to at most 256 colours, a quarter of the bytes. Merges similar colours, more coarsely until they are
 * few enough. @param png from Chromium: 8 bits per channel, with or without alpha, not interlaced
 */
export function asPalette(png: Buffer): Buffer {
  const { width, height, pixels } = pixelsOf(png);
  for (let bits = 8; ; bits--) {
    const reduced = indexed(pixels, bits);
    if (reduced) return encoded(width, height, reduced.indices, reduced.palette);
  }
}

/** The pixels as 0xRRGGBB. */
function pixelsOf(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const chunks = [...chunksOf(png)];
  const header = chunks.find(([type]) => type === 'IHDR')![1];
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const channels = header[9] === 6 ? 4 : 3;
  const raw = inflateSync(Buffer.concat(chunks.filter(([type]) => type === 'IDAT').map(([, data]) => data)));
  const stride = width * channels;
  let above = new Uint8Array(stride);
  const pixels = new Uint32Array(width * height);
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1);
    const line = new Uint8Array(raw.subarray(start + 1, start + 1 + stride));
    unfilter(raw[start]!, line, above, channels);
    for (let x = 0; x < width; x++) {
      const at = x * channels;
      pixels[y * width + x] = (line[at]! << 16) | (line[at + 1]! << 8) | line[at + 2]!;
    }
    above = line;
  }
  return { width, height, pixels };
}

function* chunksOf(png: Buffer): Generator<[string, Buffer]> {
  for (let at = SIGNATURE; at < png.length;) {
    const length = png.readUInt32BE(at);
    yield [png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + length)];
    at += length + 12;
  }
}

/** Undoes the filter of a line; see section 9 of the PNG specification. */
function unfilter(filter: number, line: Uint8Array, above: Uint8Array, channels: number): void {
  for (let at = 0; at < line.length; at++) {
    const left = line[at - channels] ?? 0;
    const up = above[at] ?? 0;
    const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, above[at - channels] ?? 0)][filter]!;
    line[at] = line[at]! + predicted;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

/** The pixels as palette indexes. Of the colours with equal high `bits`, the most frequent one is kept. */
function indexed(pixels: Uint32Array, bits: number): { indices: Uint8Array; palette: number[] } | undefined {
  const mask = ((0xff << (8 - bits)) & 0xff) * 0x010101;
  const frequencies = new Map<number, number>();
  for (const colour of pixels) frequencies.set(colour, (frequencies.get(colour) ?? 0) + 1);
  const places = new Map<number, number>();
  const palette: number[] = [];
  for (const [colour] of [...frequencies].sort(([, a], [, b]) => b - a)) {
    if (places.has(colour & mask)) continue;
    if (palette.length === MOST_COLOURS) return undefined;
    places.set(colour & mask, palette.push(colour) - 1);
  }
  return { indices: Uint8Array.from(pixels, (colour) => places.get(colour & mask)!), palette };
}

function encoded(width: number, height: number, indices: Uint8Array, palette: number[]): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8); // eight bits, palette
  const colours = Buffer.from(palette.flatMap((rgb) => [rgb >> 16, (rgb >> 8) & 0xff, rgb & 0xff]));
  const lines = Buffer.alloc((width + 1) * height); // each begins with filter type 0, none
  for (let y = 0; y < height; y++)
    lines.set(indices.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const parts = [
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(lines, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...parts]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

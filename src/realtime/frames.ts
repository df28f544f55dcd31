const UNFRAGMENTED_TEXT = 0x81;
/** A length up to 125 is the second byte itself; these two say that it follows, in two bytes or in eight. */
const LENGTH_IN_TWO_BYTES = 126;
const LENGTH_IN_EIGHT_BYTES = 127;

/** A text as one frame of RFC 6455, section 5.2, as servers send it: whole and unmasked. */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const head = headOf(length);
  const frame = Buffer.allocUnsafe(head.length + length);
  frame.set(head);
  frame.write(text, head.length);
  return frame;
}

function headOf(length: number): Buffer {
  if (length < LENGTH_IN_TWO_BYTES) return Buffer.of(UNFRAGMENTED_TEXT, length);
  if (length <= 0xffff) {
    const head = Buffer.of(UNFRAGMENTED_TEXT, LENGTH_IN_TWO_BYTES, 0, 0);
    head.writeUInt16BE(length, 2);
    return head;
  }
  const head = Buffer.of(UNFRAGMENTED_TEXT, LENGTH_IN_EIGHT_BYTES, 0, 0, 0, 0, 0, 0, 0, 0);
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

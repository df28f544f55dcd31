const MIB = 1024 * 1024;

/** What encryption adds to the smallest file, which is empty. */
export const MIN_ENVELOPE_BYTES = 61;
export const MAX_ENVELOPE_BYTES = 25 * MIB + MIN_ENVELOPE_BYTES;

/** The largest envelope in base64, with as much around it as any other JSON body may have. */
export const UPLOAD_BODY_LIMIT = Math.ceil(MAX_ENVELOPE_BYTES / 3) * 4 + MIB;

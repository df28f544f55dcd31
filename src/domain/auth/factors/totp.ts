import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** RFC 6238 with the parameters that every authenticator app supports: SHA-1, six digits, 30 seconds. */
const DIGITS = 6;
const STEP_MS = 30_000;
const SECRET_BYTES = 20;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** How many steps the clock of an authenticator may be off, in both directions. */
const TOLERANCE = 1;

/** A new secret, in base32 as authenticator apps take it. */
export function newTotpSecret(): string {
  const bits = [...randomBytes(SECRET_BYTES)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? []).map((five) => BASE32[parseInt(five, 2)]).join('');
}

/** The `otpauth:` address of a secret, which an authenticator app reads from a QR code. */
export function totpUri(secret: string, issuer: string, account: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  const parameters = new URLSearchParams({ secret, issuer, algorithm: 'SHA1', digits: '6', period: '30' });
  return `otpauth://totp/${label}?${parameters.toString().replaceAll('+', '%20')}`;
}

/** The step whose code this is, if it is that of the current step or a neighbour; spaces are ignored. */
export function stepOfCode(secret: string, code: string, now: Date): number | undefined {
  const given = Buffer.from(code.replace(/\s/g, ''));
  const current = Math.floor(now.getTime() / STEP_MS);
  const steps = Array.from({ length: 2 * TOLERANCE + 1 }, (_, at) => current - TOLERANCE + at);
  return steps.filter((step) => isEqual(given, codeOf(secret, step))).at(-1);
}

function isEqual(given: Buffer, code: string): boolean {
  return given.length === DIGITS && timingSafeEqual(given, Buffer.from(code));
}

/** RFC 4226 §5.3. */
function codeOf(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', bytesOf(secret)).update(counter).digest();
  const offset = digest.readUInt8(digest.length - 1) & 0xf;
  const number = digest.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
}

function bytesOf(base32: string): Buffer {
  const bits = Array.from(base32, (digit) => BASE32.indexOf(digit).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
}

import { UsageError } from './errors.js';

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  kib: 1024,
  m: 1e6,
  mb: 1e6,
  mib: 1024 ** 2,
  g: 1e9,
  gb: 1e9,
  gib: 1024 ** 3,
};

/** `100MB`, `1.5GiB`, `5000`. @throws UsageError */
export function parseSize(text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim()) ?? [];
  const bytes = Number(number) * (UNITS[unit.toLowerCase()] ?? NaN);
  if (number === '' || !Number.isSafeInteger(Math.floor(bytes)) || bytes < 1)
    throw new UsageError(`${text} is not a size: write 500kB, 100MB or 2GiB`);
  return Math.floor(bytes);
}

/** A size for users. */
export function formatSize(bytes: number): string {
  if (bytes < 1e3) return `${bytes} B`;
  const [divisor, unit] = bytes < 1e6 ? [1e3, 'kB'] : bytes < 1e9 ? [1e6, 'MB'] : [1e9, 'GB'];
  return `${(bytes / divisor).toFixed(1)} ${unit}`;
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A human-readable size, for example `1.5 MiB`. */
export function inBytes(bytes: number): string {
  const power = Math.min(bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10), UNITS.length - 1);
  const amount = bytes / 1024 ** power;
  return `${amount.toFixed(power === 0 || Number.isInteger(amount) ? 0 : 1)} ${UNITS[power] ?? ''}`;
}

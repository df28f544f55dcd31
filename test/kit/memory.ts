import { readFile } from 'node:fs/promises';

/** Resident memory of a process now (VmRSS) or at most so far (VmHWM), in bytes (Linux). */
export async function residentBytes(pid: number, field: 'VmRSS' | 'VmHWM' = 'VmRSS'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kilobytes = new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1];
  if (!kilobytes) throw new Error(`no ${field} of process ${pid}`);
  return Number(kilobytes) * 1024;
}

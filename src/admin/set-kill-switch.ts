import { KillSwitch, type Mode } from '../platform/kill-switch/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

const SENTENCES: Record<Mode, string> = {
  off: 'The service works as usual.',
  'read-only': 'The service is read-only: what writes content, settings or tokens is answered 503.',
  down: 'The service is down: everything but health is answered 503.',
};

/** Every instance follows within 5 s. */
export async function setKillSwitch(mode: Mode): Promise<Report> {
  await withService((service) => service.get(KillSwitch, { strict: false }).set(mode));
  return { text: SENTENCES[mode], mode };
}

/** What it is now, and what it would be. */
export async function previewKillSwitch(mode: Mode): Promise<Report> {
  const now = await withService((service) =>
    Promise.resolve(service.get(KillSwitch, { strict: false }).mode),
  );
  return { dryRun: true, mode, now, text: `The kill switch is ${now}, and would be ${mode}.` };
}

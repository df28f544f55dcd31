// npm run storm -- [--minutes N] [--instances 1|2] [--only NAMES] [--phone] [--json]
import { parseArgs } from 'node:util';
import { QUOTA_BYTES } from './arena.js';
import { ATTACKS } from './attacks/index.js';
import { type Figures, figures, MIB, missed } from './goals.js';
import type { Report } from './ledger.js';
import { travel } from './phone.js';
import { type Blown, Storm } from './storm.js';

const USAGE = `npm run storm -- [--minutes N] [--instances 1|2] [--only NAME,NAME] [--phone] [--json]
Attacks: ${ATTACKS.map(({ name }) => name).join(', ')}`;
const [USERS, PHASE_SECONDS] = [10, 30];

interface Options {
  readonly rounds: number;
  readonly seconds: number;
  readonly instances: 1 | 2;
  readonly only: readonly string[];
  /** Whether the last storm lasts until a slow phone has uploaded and downloaded 5 MB, which takes a quarter of an hour. */
  readonly hasPhone: boolean;
  readonly isJson: boolean;
}

function options(): Options {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: 'string', default: '4' },
        instances: { type: 'string', default: '1' },
        only: { type: 'string', default: '' },
        phone: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    });
    const minutes = Number(values.minutes);
    if (!(minutes > 0 && minutes <= 24 * 60)) throw new Error('--minutes must be a number above 0');
    if (!/^[12]$/.test(values.instances)) throw new Error('--instances must be 1 or 2');
    const only = values.only.split(',').filter(Boolean);
    const unknown = only.filter((name) => !ATTACKS.some((attack) => attack.name === name));
    if (unknown.length > 0) throw new Error(`no such attack: ${unknown.join(', ')}`);
    const rounds = Math.max(1, Math.round((minutes * 60) / (2 * PHASE_SECONDS)));
    const seconds = (minutes * 60) / (2 * rounds);
    const instances = values.instances === '2' ? 2 : 1;
    return { rounds, seconds, instances, only, hasPhone: values.phone, isJson: values.json };
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    process.exit(2);
  }
}

async function run({ rounds, seconds, instances, only, hasPhone, isJson }: Options): Promise<boolean> {
  const say = (line: string): void => (isJson ? console.error(line) : console.log(line));
  say(
    `${USERS} users, ${instances} instance(s), ${rounds} × ${Math.round(seconds)} s of calm and ${Math.round(seconds)} s of storm`,
  );
  // Exiting also ends the child processes.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
  const storm = await Storm.open({ instances, users: USERS });
  try {
    const [calm, blown, others]: [Report[], Blown[], string[]] = [[], [], []];
    const phone = (): Promise<void> =>
      travel(storm.arena.target).then(
        ({ upload, download }) =>
          say(`phone: 5 MB up in ${Math.round(upload)} s, down in ${Math.round(download)} s`),
        (error: unknown) => void others.push(String(error)),
      );
    for (let round = 0; round < rounds && storm.ends().length === 0; round++) {
      calm.push(await storm.calm(seconds));
      const its = await storm.blow(seconds, only, hasPhone && round === rounds - 1 ? phone : undefined);
      blown.push(its);
      const { report, recovery, tallies } = its;
      say(
        `round ${round + 1}: ${report.requests} requests, ${report.failed} failed, recovered after ${(recovery.ms / 1000).toFixed(1)} s`,
      );
      for (const [name, tally] of Object.entries(tallies)) say(`  ${name}: ${JSON.stringify(tally)}`);
      for (const line of report.examples.slice(0, 10)) say(`  ${line}`);
    }
    const mostBytes = storm.mostResidentBytes();
    others.push(...storm.ends());
    const { faults } = await storm
      .verify()
      .catch((error: unknown) => ({ faults: [`the data could not be verified: ${String(error)}`] }));
    const { bytes, workspaces } = await storm.taken().catch(() => ({ bytes: 0, workspaces: 0 }));
    if (bytes > QUOTA_BYTES + 8 * MIB)
      others.push(`the hostile account stores ${Math.round(bytes / MIB)} MiB of ${QUOTA_BYTES / MIB}`);
    if (workspaces > 1000) others.push(`the hostile account has ${workspaces} workspaces`);
    const its = figures(calm, blown, mostBytes);
    const lines = missed(its, [...others, ...faults], only);
    print(its, lines, isJson);
    return lines.length === 0;
  } finally {
    await storm.close();
  }
}

function print(its: Figures, lines: readonly string[], isJson: boolean): void {
  if (isJson) {
    console.log(JSON.stringify({ ...its, missed: lines }));
    return;
  }
  for (const kind of ['put', 'pull'] as const) {
    const [calm, storm] = [its.calm[kind], its.storm[kind]];
    console.log(
      `${kind}: p50 ${calm.p50.toFixed(1)} → ${storm.p50.toFixed(1)} ms, p99 ${calm.p99.toFixed(1)} → ${storm.p99.toFixed(1)} ms ` +
        `(× ${(storm.p99 / calm.p99).toFixed(1)}), ${calm.count} and ${storm.count} requests`,
    );
  }
  console.log(
    `${its.requests} requests in the storm, ${its.failedPerThousand.toFixed(2)} in a thousand failed; ` +
      `${Math.round(its.mebibytes)} MiB at most; recovered after ${its.recoverySeconds.toFixed(1)} s`,
  );
  for (const line of lines) console.log(`MISSED: ${line}`);
}

process.exitCode = (await run(options())) ? 0 : 1;

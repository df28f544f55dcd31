import { Get, Injectable, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { AuditedKillSwitch } from '../../domain/auth/audit/index.js';
import { VERSION } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { BadRequest } from '../../platform/http/index.js';
import { type JobRun, JobRuns } from '../../platform/jobs/index.js';
import { KillSwitch, type Mode, MODES, OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { Queues } from '../../platform/limits/index.js';
import { type Readiness, ReadinessCheck } from '../../platform/readiness.js';
import { formDocs, PostForm, SelectField, Time } from '../layout/index.js';
import { ACTED, AdminDoor, AdminPages, SHOWN } from './admin-door.js';
import { Facts } from './admin-layout.js';
import { adminPagesStatements, type DoctorRun, DoctorRuns } from './doctor-runs.js';

const RUNS = 60;

export interface ServiceStatus {
  readonly version: string;
  /** The readiness of the instance that answers. */
  readonly readiness: Readiness;
  readonly instances: number;
  /** Calls that wait on this instance, by queue. */
  readonly queues: ReadonlyMap<string, number>;
  readonly mode: Mode;
  /** The last runs of the nightly jobs, newest first. */
  readonly jobs: readonly JobRun[];
}

@Injectable()
export class ServiceStatusOverview {
  constructor(
    private readonly readiness: ReadinessCheck,
    private readonly queues: Queues,
    private readonly killSwitch: KillSwitch,
    private readonly jobRuns: JobRuns,
    private readonly database: Database,
  ) {}

  async now(): Promise<ServiceStatus> {
    const [running] = await this.database.run<{ instances: number }>(adminPagesStatements.instances, []);
    return {
      version: VERSION,
      readiness: await this.readiness.look(),
      instances: running?.instances ?? 0,
      queues: this.queues.counts(),
      mode: this.killSwitch.mode,
      jobs: await this.jobRuns.recent(RUNS),
    };
  }
}

interface ServiceProps {
  readonly status: ServiceStatus;
  readonly lastCheck: DoctorRun | undefined;
  readonly csrfToken: string;
}

export function serviceView({ status, lastCheck, csrfToken }: ServiceProps): VNode {
  return (
    <>
      <HealthSection status={status} />
      <KillSwitchSection mode={status.mode} csrfToken={csrfToken} />
      <DoctorSection lastCheck={lastCheck} csrfToken={csrfToken} />
      <JobsSection jobs={status.jobs} />
    </>
  );
}

function HealthSection({ status }: { readonly status: ServiceStatus }): VNode {
  const { version, readiness, instances, queues } = status;
  const waiting = [...queues].filter(([, count]) => count > 0);
  return (
    <section aria-labelledby="health">
      <h2 id="health">Health</h2>
      <Facts
        facts={[
          ['This instance', readiness.ready ? 'Ready' : 'Not ready'],
          ['Database', readiness.database],
          ['Stored bytes', readiness.blobs],
          ['Schema', readiness.migrations],
          ['Version', version],
          ['Instances', instances],
          ['Waiting calls here', waiting.map(([queue, count]) => `${queue}: ${count}`).join(', ') || 'None'],
        ]}
      />
    </section>
  );
}

const MEANINGS: Readonly<Record<Mode, string>> = {
  off: 'off: everything works',
  'read-only': 'read-only: nothing can be written',
  down: 'down: nobody is served',
};

function KillSwitchSection({ mode, csrfToken }: { readonly mode: Mode; readonly csrfToken: string }): VNode {
  return (
    <section aria-labelledby="kill-switch">
      <h2 id="kill-switch">Kill switch</h2>
      <p>It is {MEANINGS[mode]}.</p>
      <p class="hint">
        While it is down, this page is refused as well: only the command <code>admin kill-switch off</code>{' '}
        ends that.
      </p>
      <PostForm action="/admin/service/kill-switch" csrfToken={csrfToken} label="Set the kill switch">
        <SelectField
          id="mode"
          name="mode"
          label="Mode"
          options={MODES.map((value) => ({ value, text: MEANINGS[value] }))}
          value={mode}
        />
        <button type="submit">Set the kill switch</button>
      </PostForm>
    </section>
  );
}

interface DoctorProps {
  readonly lastCheck: DoctorRun | undefined;
  readonly csrfToken: string;
}

function DoctorSection({ lastCheck, csrfToken }: DoctorProps): VNode {
  return (
    <section aria-labelledby="doctor">
      <h2 id="doctor">Check of the stored data</h2>
      {lastCheck ? <LastCheck run={lastCheck} /> : <p>It has not run yet.</p>}
      <PostForm action="/admin/service/doctor" csrfToken={csrfToken} label="Start a check">
        <p class="hint">Compares database and stored bytes, in the background, and changes nothing.</p>
        <button type="submit" class="quiet">
          Start a check
        </button>
      </PostForm>
    </section>
  );
}

function LastCheck({ run }: { readonly run: DoctorRun }): VNode {
  const { startedAt, endedAt, found, findings, error } = run;
  return (
    <>
      <p>
        Started <Time at={startedAt} />.{' '}
        {endedAt ? <Outcome found={found ?? 0} error={error} /> : 'It is running.'}
      </p>
      <ul class="things">
        {findings.map(({ fault, subject, problem, cure }) => (
          <li key={`${fault} ${subject}`}>
            <div>
              <p>
                {fault}: {subject}
              </p>
              <p class="hint">
                {problem} {cure}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}

function Outcome({ found, error }: { readonly found: number; readonly error: string | null }): VNode {
  const problems = found === 1 ? '1 problem' : `${found} problems`;
  return <span>{error ?? (found === 0 ? 'No problems found.' : `Found ${problems}.`)}</span>;
}

function JobsSection({ jobs }: { readonly jobs: readonly JobRun[] }): VNode {
  return (
    <section aria-labelledby="jobs">
      <h2 id="jobs">Nightly jobs</h2>
      {jobs.length === 0 && <p class="hint">No job has run yet.</p>}
      <ul class="things">
        {jobs.map(({ name, startedAt, endedAt, counts, error }, at) => (
          <li key={at}>
            <div>
              <p>
                {name} {error && <span class="badge">failed</span>}
              </p>
              <p class="hint">
                <Time at={startedAt} />
                {endedAt ? '' : ', has not ended'}
                {Object.entries(counts).map(([what, count]) => `, ${what}: ${count}`)}
                {error && `, ${error}`}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

const DONE = {
  'kill-switch': 'The kill switch is set. Every instance follows within five seconds.',
  doctor: 'The check has started. Reload this page to see its result.',
} as const;

@AdminPages('admin/service', {
  show: { summary: 'Show health, jobs, kill switch and checks, for administrators', answers: SHOWN },
  setKillSwitch: formDocs('Set the kill switch, for administrators', ACTED),
  startDoctor: formDocs('Start a check of the stored data, for administrators', ACTED),
})
@OpenWhenReadOnly('ends that state; writes no content')
export class ServiceController {
  constructor(
    private readonly door: AdminDoor,
    private readonly status: ServiceStatusOverview,
    private readonly killSwitch: AuditedKillSwitch,
    private readonly doctorRuns: DoctorRuns,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.show(request, reply, async ({ csrfToken, query }) => {
      const done = query.text('done');
      return {
        title: 'Service',
        section: 'Service',
        notice: Object.hasOwn(DONE, done) ? DONE[done as keyof typeof DONE] : undefined,
        content: serviceView({
          status: await this.status.now(),
          lastCheck: await this.doctorRuns.last(),
          csrfToken,
        }),
      };
    });
  }

  @Post('kill-switch')
  async setKillSwitch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.act(request, reply, async ({ form, by }) => {
      const mode = MODES.find((one) => one === form.text('mode'));
      if (!mode) throw new BadRequest('choose a mode');
      await this.killSwitch.set(mode, by);
      return { location: '/admin/service?done=kill-switch' };
    });
  }

  @Post('doctor')
  async startDoctor(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.act(request, reply, async ({ by }) => {
      await this.doctorRuns.start(by);
      return { location: '/admin/service?done=doctor' };
    });
  }
}

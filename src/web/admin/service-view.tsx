import type { VNode } from 'preact';
import { SelectField, Time } from '../layout/index.js';
import type { JobRun } from '../../platform/jobs/index.js';
import { type Mode, MODES } from '../../platform/kill-switch/index.js';
import { AdminForm, Facts } from './admin-layout.js';
import type { DoctorRun } from './doctor-run.entity.js';
import type { ServiceStatus } from './service-status.js';

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
      <AdminForm action="/admin/service/kill-switch" csrfToken={csrfToken} label="Set the kill switch">
        <SelectField
          id="mode"
          name="mode"
          label="Mode"
          options={MODES.map((value) => ({ value, text: MEANINGS[value] }))}
          value={mode}
        />
        <button type="submit">Set the kill switch</button>
      </AdminForm>
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
      <AdminForm action="/admin/service/doctor" csrfToken={csrfToken} label="Start a check">
        <p class="hint">Compares database and stored bytes, in the background, and changes nothing.</p>
        <button type="submit" class="quiet">
          Start a check
        </button>
      </AdminForm>
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

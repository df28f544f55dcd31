import type { VNode } from 'preact';
import { Time } from '../pages/index.js';
import { MOST_DEVICES, type Overview } from './account-overview.js';
import { ActionForm } from './action-form.js';

interface DevicesProps {
  readonly overview: Overview;
  readonly csrfToken: string;
}

export function DevicesSection({ overview, csrfToken }: DevicesProps): VNode {
  const { devices } = overview;
  return (
    <section aria-labelledby="devices">
      <h2 id="devices">Devices</h2>
      {devices.length === 0 && <p class="hint">No device is registered.</p>}
      {devices.length === MOST_DEVICES && (
        <p class="hint">There may be older ones. The newest {MOST_DEVICES} are shown.</p>
      )}
      <ul class="things">
        {devices.map(({ id, name, platform, lastSeenAt, createdAt }) => (
          <li key={id}>
            <div>
              <p>
                {name} <span class="badge">{platform}</span>
              </p>
              <p class="hint">
                {lastSeenAt ? 'Last seen ' : 'Registered '}
                <Time at={lastSeenAt ?? createdAt} />
              </p>
            </div>
            <ActionForm action="/account/devices/remove" {...{ csrfToken, id }}>
              <button type="submit" class="quiet" aria-label={`Remove ${name}`}>
                Remove
              </button>
            </ActionForm>
          </li>
        ))}
      </ul>
    </section>
  );
}

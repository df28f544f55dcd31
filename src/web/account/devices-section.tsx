import type { VNode } from 'preact';
import { Time } from '../layout/index.js';
import type { AccountPageProps } from './account-page-props.js';
import { MOST_DEVICES } from './account-overview.js';
import { ActionForm } from './action-form.js';

export function DevicesSection({ overview, csrfToken }: AccountPageProps): VNode {
  const { devices } = overview;
  return (
    <section aria-labelledby="devices">
      <h2 id="devices">Devices</h2>
      <p class="hint">A removed device gets no more pushes. It registers again when its app syncs.</p>
      {devices.length === 0 && <p class="hint">No device is registered.</p>}
      {devices.length === MOST_DEVICES && (
        <p class="hint">Showing the newest {MOST_DEVICES}. There may be more.</p>
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

import type { VNode } from 'preact';
import { ConfirmField, Hidden } from '../layout/index.js';
import type { Overview } from './account-overview.js';

/** What the forms of the section do. */
export type FactorChange = 'set-up' | 'codes' | 'remove';

/** A form of the section that was not accepted. */
export interface RejectedFactorChange {
  readonly change: FactorChange;
  /** What is wrong with the password. */
  readonly fault?: string | undefined;
}

interface FactorSectionProps {
  readonly overview: Overview;
  readonly csrfToken: string;
  readonly needsConfirmation: boolean;
  readonly failedFactor?: RejectedFactorChange | undefined;
}

/** The section for the second factor: set it up, renew the backup codes, turn it off. */
export function FactorSection(props: FactorSectionProps): VNode {
  const { codesLeft } = props.overview;
  return (
    <section aria-labelledby="factor">
      <h2 id="factor">Second factor</h2>
      {codesLeft === null ? (
        <>
          <p class="hint">
            Off. With it, signing in takes your password and a code from an app on your phone. Whoever learns
            the password alone stays out.
          </p>
          <Change {...props} change="set-up" summary="Set up the second factor" button="Begin" />
        </>
      ) : (
        <>
          <p>On. {codesLeft === 1 ? '1 backup code is' : `${codesLeft} backup codes are`} left.</p>
          <Change {...props} change="codes" summary="New backup codes" button="Make new codes">
            <p class="hint">The old ones stop working.</p>
          </Change>
          <Change {...props} change="remove" summary="Turn it off" button="Turn off the second factor">
            <p class="hint">Your password alone will be enough to sign in. The backup codes stop working.</p>
          </Change>
        </>
      )}
    </section>
  );
}

interface ChangeProps extends FactorSectionProps {
  readonly change: FactorChange;
  readonly summary: string;
  readonly button: string;
  readonly children?: VNode;
}

function Change({ change, summary, button, children, ...props }: ChangeProps): VNode {
  const failed = props.failedFactor?.change === change ? props.failedFactor : undefined;
  return (
    <details open={failed !== undefined}>
      <summary>{summary}</summary>
      <form method="post" action={`/account/factor/${change}`} aria-label={summary}>
        <Hidden fields={{ csrf_token: props.csrfToken }} />
        {children}
        {props.needsConfirmation && (
          <ConfirmField
            id={`factor-${change}-password`}
            hasFactor={props.overview.codesLeft !== null}
            fault={failed?.fault}
          />
        )}
        <button type="submit">{button}</button>
      </form>
    </details>
  );
}

import type { VNode } from 'preact';
import { Field } from './fields.js';

interface ConfirmFieldProps {
  /** Distinguishes the fields of several forms on a page. */
  readonly id: string;
  /** When the password is needed, if the form does not always need it. */
  readonly hint?: string;
  readonly fault?: string | undefined;
  /** Whether a code of the second factor is accepted as well. */
  readonly hasFactor?: boolean;
}

/** The current password, in a form whose effect cannot be undone or outlives the session. `Confirmations` checks it. */
export function ConfirmField({ id, hint, fault, hasFactor = false }: ConfirmFieldProps): VNode {
  return (
    <Field
      id={id}
      name="confirm_password"
      label={hasFactor ? 'Your password, or a code from your authenticator app' : 'Your password'}
      type="password"
      autocomplete="current-password"
      isRequired={hint === undefined}
      {...(hint === undefined ? {} : { hint })}
      fault={fault}
      isFocused={fault !== undefined}
    />
  );
}

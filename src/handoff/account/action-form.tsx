import type { ComponentChildren, VNode } from 'preact';
import { Hidden } from '../fields.js';

interface ActionFormProps {
  readonly action: string;
  readonly formToken: string;
  /** Which thing it is about. */
  readonly id?: string;
  readonly children: ComponentChildren;
}

/** A form that is nothing but its button. */
export function ActionForm({ action, formToken, id, children }: ActionFormProps): VNode {
  return (
    <form method="post" action={action} class="action">
      <Hidden fields={{ csrf_token: formToken, ...(id === undefined ? {} : { id }) }} />
      {children}
    </form>
  );
}

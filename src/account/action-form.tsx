import type { ComponentChildren, VNode } from 'preact';
import { Hidden } from '../pages/index.js';

interface ActionFormProps {
  readonly action: string;
  readonly csrfToken: string;
  /** Which thing it is about. */
  readonly id?: string;
  readonly children: ComponentChildren;
}

/** A form that is nothing but its button. */
export function ActionForm({ action, csrfToken, id, children }: ActionFormProps): VNode {
  return (
    <form method="post" action={action} class="action">
      <Hidden fields={{ csrf_token: csrfToken, ...(id === undefined ? {} : { id }) }} />
      {children}
    </form>
  );
}

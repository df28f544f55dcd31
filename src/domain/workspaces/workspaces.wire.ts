import type { ListedWorkspace } from './workspaces-of-user.js';

/** The contract requires snake_case for list and detail, camelCase for creation. */
export interface WorkspaceWire {
  id: string;
  user_id: string;
  name: string;
  encryption_salt: string | null;
  created_at: string;
  updated_at: string;
}

export interface CreatedWorkspaceWire {
  id: string;
  userId: string;
  name: string;
  createdAt: string;
  updatedAt: string;
}

export function workspaceWire(workspace: ListedWorkspace): WorkspaceWire {
  return {
    id: workspace.id,
    user_id: workspace.userId,
    name: workspace.name,
    encryption_salt: workspace.encryptionSalt,
    created_at: workspace.createdAt.toISOString(),
    updated_at: workspace.updatedAt.toISOString(),
  };
}

export function createdWorkspaceWire(workspace: ListedWorkspace): CreatedWorkspaceWire {
  return {
    id: workspace.id,
    userId: workspace.userId,
    name: workspace.name,
    createdAt: workspace.createdAt.toISOString(),
    updatedAt: workspace.updatedAt.toISOString(),
  };
}

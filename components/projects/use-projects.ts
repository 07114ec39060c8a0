"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";
import { toast } from "../ui/toast.ts";
import { currentProject } from "./address.ts";
import { useProject } from "./current.tsx";

/** All projects and the one in the URL, which is undefined until they are loaded and when it does not exist. */
export function useProjects() {
  const named = useProject();
  const query = useQuery(useTRPC().projects.list.queryOptions({}));
  const projects = query.data?.projects;
  return { query, projects, current: projects && currentProject(projects, named) };
}

/** Archives with a way back, and unarchives. */
export function useArchiving() {
  const trpc = useTRPC();
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries(trpc.projects.list.queryFilter());
  const unarchive = useMutation(
    trpc.projects.unarchive.mutationOptions({
      onSuccess: ({ name }) => {
        toast.success(`${name} takes events again.`);
        return refresh();
      },
      onError: (error) => toast.error(`The project is still archived: ${error.message}`),
    }),
  );
  const archive = useMutation(
    trpc.projects.archive.mutationOptions({
      onSuccess: ({ id, name }) => {
        toast.success(`${name} is archived.`, {
          action: { label: "Undo", onClick: () => unarchive.mutate({ id }) },
        });
        return refresh();
      },
      onError: (error) => toast.error(`The project was not archived: ${error.message}`),
    }),
  );
  return { archive, unarchive };
}

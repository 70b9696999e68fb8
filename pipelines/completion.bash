# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# bash completion for the programs of this folder: options as --help has them, the values
# of those with a few, and files.

_gst_cudasepconv() {
  local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} values
  COMPREPLY=()
  # bash takes --option=value for three words.
  if [[ $current = '=' ]]; then
    current=
  elif [[ $option = '=' ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $option in
    --backend) values='auto cuda cpu' ;;
    --planes) values='color luma chroma alpha all' ;;
    --suffix) values='.mp4 .mkv .webm .raw' ;;
    --detect) values='people faces' ;;
    --fill) values='blur pixelate solid' ;;
    */launch-line | launch-line) values=$("${COMP_WORDS[0]}" | awk '{ print $1 }') ;;
  esac
  if [[ -n ${values-} && $current != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
  elif [[ $current = -* ]]; then
    values=$("${COMP_WORDS[0]}" --help 2>/dev/null | grep -oE -- '--[a-z-]+' | sort -u)
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}

complete -o filenames -F _gst_cudasepconv filter-file filter-archive histogram-lines factor-kernel \
  hide-people histogram-view launch-line monitor-streams
